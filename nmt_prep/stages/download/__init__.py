"""The stage download: ``stage.py`` declares it, ``needed.py`` lists files, ``hub.py`` chooses those of repositories."""
