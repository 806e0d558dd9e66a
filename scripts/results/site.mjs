/** A web server with pages and an API. */
import { createServer } from "node:http";
import { ORDERS } from "./fixture/orders.mjs";
import { handbookHtml, PRODUCTS, shopHtml } from "./fixture/pages.mjs";

const OPENAPI = (url) => ({
  openapi: "3.0.3",
  info: { title: "Orders", version: "1" },
  servers: [{ url }],
  paths: {
    "/orders.json": {
      get: {
        operationId: "listOrders",
        summary: "All orders",
        responses: { 200: { description: "the orders" } },
      },
    },
  },
});

/** Serves them at a free port. */
export async function startSite() {
  const pages = {
    "/handbook": ["text/html", handbookHtml()],
    "/shop": ["text/html", shopHtml()],
    "/products.json": ["application/json", JSON.stringify(PRODUCTS)],
    "/orders.json": ["application/json", JSON.stringify({ orders: ORDERS, count: ORDERS.length })],
  };
  const server = createServer(({ url }, response) => {
    const { pathname } = new URL(url, "http://site");
    const [type, text] = pages[pathname] ?? ["text/plain", ""];
    response.writeHead(text === "" ? 404 : 200, { "content-type": type }).end(text);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${server.address().port}`;
  pages["/openapi.json"] = ["application/json", JSON.stringify(OPENAPI(url))];
  return { url, close: () => new Promise((resolve) => server.close(resolve)) };
}
