"""The stage encode: ``stage.py`` declares it, ``tasks.py`` has its tasks, ``facts.py`` what rows need to be written."""

from nmt_prep.stages.encode.stage import Encode, licence_settings

__all__ = ["Encode", "licence_settings"]
