/** A collector of traces that reads what it gets and keeps nothing; prints its port. */
import { createServer } from "node:http";

const server = createServer((request, response) => {
  request
    .resume()
    .once("end", () => response.writeHead(200, { "content-type": "application/json" }).end("{}"));
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
