"""What makes and checks the course, as programs. Run them from the root.

python -m tools.notebooks      check, mend and solve the notebooks
python -m tools.clock          say how long a notebook takes, section by section
python -m tools.record         write the data that no notebook measures itself
python -m tools.layer_support  measure what every layer of Keras does
python -m tools.migration      run the rows of docs/migration.md in their libraries
python -m tools.casts          cast the same numbers in eight libraries
python -m tools.engines        add up the same numbers in ten libraries
python -m tools.scalers        move the same loss scale in eight libraries
python -m tools.drills         take certificates of the overflow drill into a page
python -m tools.bias_trainings measure what a bias that is added up in 16 bits does
python -m tools.device_trace   trace a step of the network that this device gets
python -m tools.release        write what a release carries
python -m tools.site           write the web site, the decision card, the README's picture
python -m tools.rerun_cells    let the quick sections of notebooks run twice
python -m tools.explorers      bundle the explorers' modules and styles
python -m tools.size           say how large the course is

The other modules are their libraries: `canonical_form`, `template` (rules), `origin`
(whose it is), `notebook_cells` (one by one) and `workshop` (lessons made of them) of
notebooks, `publishing` (address, badge and setup cell), `rescue`, `backward_error`,
`bias_models`, `engine_sums`, `layer_samples` and `migration_steps` of records,
`decision_card`, `pictures`, `reference`, `bias_page`, `casts_page`, `engines_page`,
`files_page`, `migration_page`, `scalers_page` and `passages` (what its search reads) of
the site.
"""

import sys

# Without it jsonschema, which nbformat needs, leaves out a check of web addresses, whose
# grammar takes more than a second to load.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
