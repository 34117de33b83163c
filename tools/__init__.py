"""What makes and checks the course, as eight programs. Run them from the root.

python -m tools.notebooks    check, mend and solve the notebooks
python -m tools.clock        say how long a notebook takes, section by section
python -m tools.workshop     say the same of the lessons made from them
python -m tools.record       write the data that no notebook measures itself
python -m tools.release      write what a release carries
python -m tools.site         write the web site, the decision card, the README's picture
python -m tools.runs         run the notebooks with many versions, or twice
python -m tools.size         say how large the course is

The other modules are their libraries: `canonical` (form), `template` (rules) and
`cells` (one by one) of notebooks, `publishing` (address, badge and setup cell), `card`
and `pictures`.
"""
