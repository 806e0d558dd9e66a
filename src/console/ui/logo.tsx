/** The logo. */

/** The icon of the page, which the build has written. */
const icon = document.querySelector<HTMLLinkElement>("link[rel=icon]")?.href;

/** A door with a hinge. */
export const Logo = () => <img class="logo" src={icon} alt="" />;
