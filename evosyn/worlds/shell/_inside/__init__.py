"""What runs on the far side: a keeper in namespaces of its own, and the rooms that it makes. Standard library only."""
