"""Posed RGB-D recordings in, maps out: PNG, GeoTIFF, GeoJSON, labelled voxels."""

from flaneur.mapping.recording.read import RecordedFrame, Recording, open_recording
from flaneur.mapping.recording.run import RecordingMapper
from flaneur.mapping.recording.write import write_outputs

__all__ = ["RecordedFrame", "Recording", "RecordingMapper", "open_recording", "write_outputs"]
