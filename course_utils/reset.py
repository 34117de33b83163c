"""Start anew: `python -m course_utils reset` forgets progress and puts notebooks back."""

import shutil
import time

from course_utils import exercises, processes
from course_utils.exercises import store


def run(notebooks: bool = False, sure: bool = False) -> int:
    """Asks, copies what will change to backups/, and changes it; 1 if nothing was changed."""
    backup = processes.ROOT / "backups" / time.strftime("%Y%m%d-%H%M%S")
    changed = {store.path(): None} if store.path().exists() else {}
    for path in sorted((processes.ROOT / "notebooks").glob("*.ipynb")) if notebooks else ():
        kept = processes.run(["git", "-C", str(path.parent), "show", f"HEAD:./{path.name}"])
        if kept.problem:
            print(f"{path}: left alone, because Git has no copy ({kept.problem.strip('.')}).")
        elif kept.printed != path.read_text(encoding="utf-8"):
            changed[path] = kept.printed
    if not changed:
        print("There is nothing to put back.")
        return 0
    for path, text in changed.items():
        print(f"{path}: {'all guesses and solved exercises' if text is None else 'put back'}")
    try:
        if not sure and input(f"Copies go to {backup}. Go on? [y/N] ").strip().lower() != "y":
            raise EOFError
        backup.mkdir(parents=True)
        for path in changed:  # all of them before the first is changed
            shutil.copy2(path, backup)
        for path, text in changed.items():
            path.write_text(text, encoding="utf-8") if text else exercises.reset()
    except EOFError:  # or there is nobody to ask
        print("Nothing was changed: answer y, or give --yes.")
        return 1
    except OSError as error:
        print(f"{error.filename}: {error.strerror}. Copies of what was changed: {backup}")
        return 1
    print(f"Done. As it was: {backup}")
    return 0
