"""What makes and checks the course: notebooks, workshop, release, records. Run them
from the root.

python -m tools.notebooks --check
"""
