"""A synchronous English–Chinese grammar that writes a parallel corpus of any size.

lexicon → words with their Chinese counterparts and measure words
inflection → English verb forms, plurals and articles
people, facts → persons, places, organisations, topics and times
phrases → noun phrases
tables → phrases by the name that patterns call them, each with its weight
numbers → quantities, dates and prices in both conventions
statements, patterns → sentence patterns with slots
grammar → draws pairs from the patterns
writer → packs pairs as files
"""
