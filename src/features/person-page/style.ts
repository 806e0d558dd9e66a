/** The style of this page alone, after that of all pages. */
export const STYLE = `
main { max-width: 52rem }
.who, .row { display: flex; flex-wrap: wrap; align-items: center; justify-content: space-between; gap: 0.25rem 1rem }
details { border-top: 1px solid var(--line) }
summary { padding: 0.55rem 0.2rem; font-weight: 600; overflow-wrap: anywhere }
summary .quiet { margin-left: 0.5rem; font-size: 0.88rem; font-weight: 400 }
details > :not(summary) { margin: 0 0.2rem 0.9rem 1.15rem }
details p + p, details p + pre, details pre + p { margin-top: 0.5rem }
li { padding: 0.45rem 0; overflow-wrap: anywhere }
li + li { border-top: 1px solid var(--line) }
li .badge { margin-left: 0.35rem }
@media (max-width: 30rem) { details > :not(summary) { margin-left: 0.2rem } }
`;
