"""Decontamination: finds pairs that contain segments of evaluation sets."""
