"""What looks wrong with the data of a run: counted while the stages work, and told at the end without being asked."""
