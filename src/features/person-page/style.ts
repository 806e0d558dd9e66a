/** The style of this page alone, after that of all pages. */
export const STYLE = `
main { max-width: 52rem }
.brand { margin-bottom: 1.25rem }
.who { display: flex; flex-wrap: wrap; align-items: center; justify-content: space-between; gap: .25rem 1rem; margin: 0 0 1rem }
.who form, .row form { margin: 0 }
.card { margin: 0 0 1.1rem; padding: 1.1rem 1.25rem; border: 1px solid var(--line); border-radius: 12px; background: var(--card) }
h2 { margin: 0 0 .5rem; font-size: 1.08rem }
p { margin: .35rem 0 }
h1 + p { margin-bottom: 1rem }
pre { margin: .5rem 0; padding: .6rem .8rem; border: 1px solid var(--line); border-radius: .5rem; background: var(--sunk);
  white-space: pre-wrap; overflow-wrap: anywhere; user-select: all }
details { border-top: 1px solid var(--line) }
details:first-of-type { margin-top: .7rem }
summary { padding: .55rem .2rem; cursor: pointer; font-weight: 600; overflow-wrap: anywhere }
summary .soft { margin-left: .4rem; font-weight: 400 }
details > :not(summary) { margin-left: 1.15rem; margin-right: .2rem }
details > :last-child { margin-bottom: .9rem }
ul { list-style: none; margin: 0; padding: 0 }
li { padding: .4rem 0; overflow-wrap: anywhere }
li + li { border-top: 1px solid var(--line) }
li p { margin: .1rem 0 0 }
.row { display: flex; flex-wrap: wrap; align-items: center; justify-content: space-between; gap: .2rem 1rem }
.row button { margin: 0 }
.mark { display: inline-block; margin-left: .35rem; padding: .05rem .5rem; border: 1px solid currentColor; border-radius: 1rem;
  font-size: .8rem; font-weight: 600; white-space: nowrap }
.deny { color: var(--bad) }
.approve, .depends { color: var(--warn) }
.good { color: var(--good) }
@media (max-width: 30rem) { body { padding: 1.2rem .75rem 2rem } .card { padding: .9rem } details > :not(summary) { margin-left: .2rem } }
`;
