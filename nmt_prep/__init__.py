"""Data preparation for neural machine translation: corpora named in one YAML file in, training-ready batches out."""
