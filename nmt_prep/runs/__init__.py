"""Plans, runs and checks configs; opens, views and tries their results."""
