// Prints the Khronos validator's report on one GLB as JSON. NODE_PATH must hold the package gltf-validator.
const fs = require("fs");
require("gltf-validator")
  .validateBytes(new Uint8Array(fs.readFileSync(process.argv[2])), { maxIssues: 20 })
  .then((report) => console.log(JSON.stringify(report.issues)));
