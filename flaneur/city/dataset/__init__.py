"""Many scenes: a manifest, the build, splits, statistics, the data card, hosting."""
