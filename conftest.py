"""What the tests of all houses share."""

pytest_plugins = ["tests.fixtures"]
