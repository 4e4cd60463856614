"""The pytest plugin: all that knows pytest."""
