/** Plays the browser of `person` at the issuer; resolves to the callback URL. The person `nobody` says no. */
export function authorizeAs(url: string, person: string): Promise<string>;
/** Approves the device whose `verification_uri_complete` is `url`. */
export function approveDeviceAs(url: string, person: string): Promise<void>;
