"""Scene -> files of other programs. Every `write_x(scene, path)` writes beside its target and renames."""
