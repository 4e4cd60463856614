"""The papers' results beside ours: in go public tables and the authors' runs, out comes a page for each of them.

Each module has results of one table or figure: their cells, what is computed in each, and how the stored rows stand
beside what was published. `studies.papers.results.RESULTS` has them all by name.
"""
