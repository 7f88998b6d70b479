"""Pages with faults that `documented.py` has to find."""
import importlib.util

# What is wrong, the page, and what is said of it.
PLANTED = {
    "a command that there is not": ("```sh\ngodwit migrat A.sqlite\n```", "`godwit migrat` is no"),
    "an option in a command": (
        "```sh\ngodwit plan Shop.sqlite --to Shop.momd --into X\n```", "no option --into"),
    "an option of another command": (
        "```sh\ngodwit plan Shop.sqlite --to Shop.momd --output X\n```", "no option --output"),
    "an option in a text": ("Give `--workerz 4`.", "has an option --workerz"),
    "an option of another command in a text": ("`verify --workers 4`", "no option --workers"),
    "a command in a text": ("`godwit repair STORE`", "`godwit repair` is no command"),
    "a control of what does not run": (
        "```sh alternatives\ngodwit pause Shop.sqlite --wait 0\n```", "ends with 66, not"),
    "a result that nobody made": (
        "```sh alternatives running\ngodwit verify Old.sqlite New.sqlite\n```",
        "ends with 66, not"),
    "a store that is not there": ("```sh\ngodwit inspect Gone.sqlite\n```", "ends with 66, not"),
    "a command that builds on one that did not run": (
        "```sh\ngodwit inspect New.sqlite --json\n```", "ends with 66, not with 0"),
    "an exit status": ("```sh\ngodwit inspect Shop.sqlite  # ends with 78\n```", "ends with 0, no"),
    "a server that does not begin": (
        "```sh\ngodwit serve --port 0 --bind nowhere.example\n```", "ends with 64, not with 0"),
    "a script": ("```sh\nscripts/tests\n```", "scripts/tests is no script"),
    "a script in a text": ("`scripts/benches` measures", "scripts/benches is not there"),
    "YAML that is none": (
        "```yaml\nstores:\n  script:\n    - godwit help\n   - more\n```", "YAML"
        if importlib.util.find_spec("yaml") else "odd number"),
    "a command in YAML": (
        "```yaml\nstores:\n  script:\n    - godwit check Shop.sqlite --too Shop.momd\n```",
        "no option --too"),
    "a command in YAML that fails": (
        "```yaml\nstores:\n  run: godwit check Gone --to Shop.momd\n```", "ends with 66, not"),
    "YAML without a command": ("```yaml\nstores:\n  run: true\n```", "no line calls godwit"),
    "a store that a block before has made": (
        "```sh\ngodwit migrate Shop.sqlite --to Shop.momd\n```\n```sh continued\n"
        "godwit migrate Shop.sqlite --to Shop.momd --output New.sqlite\n"
        "godwit inspect New.sqlite\n```", "`godwit inspect New.sqlite` ends with 66, not with 0"),
    "a line of alternatives": (
        "```sh alternatives\ngodwit migrate Shop.sqlite --to Shop.momd\n"
        "godwit verify Shop.sqlite.before-* Shop.sqlite\n```", "ends with 66, not with 0"),
}
