/** Follows the page of each server of the ledger on one stream, which is opened again whenever it ends. */

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * @param host that is open
 * @param {object} pages exposed URIs
 * @returns `updates`: how many it has received; `opened`: how often the stream was opened; `errors`
 */
export function follow(host, pages) {
  const self = { updates: 0, opened: 0, errors: [] };
  const uris = Object.values(pages);
  const onMessage = ({ method }) => {
    if (method === "notifications/resources/updated") self.updates += 1;
  };
  async function stay() {
    for (;;) {
      try {
        await new Promise((resolve, reject) => {
          const options = { onMessage, onEnd: resolve, notifications: { resourceSubscriptions: uris } };
          host.stream(options).then(({ refusal, status }) => {
            if (refusal !== undefined) reject(new Error(`HTTP ${status}`));
            else self.opened += 1;
          }, reject);
        });
      } catch (error) {
        self.errors.push(error.message);
      }
      await pause(100);
    }
  }
  async function begin() {
    if (host.era === "legacy") for (const uri of uris) await host.request("resources/subscribe", { uri });
    await stay();
  }
  begin().catch((error) => self.errors.push(error.message));
  return self;
}
