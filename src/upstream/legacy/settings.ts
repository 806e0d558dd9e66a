/** What is a connection to a legacy server given, beside what both eras need? */
import type { Notice } from "../../core/call.js";
import type { Client, ClientDirectory } from "../../core/client.js";
import type { JsonObject } from "../../wire/json.js";
import type { ParkedCalls } from "./parked-calls.js";
import type { QuestionPace } from "./question-pace.js";
import type { RememberedHost } from "./remembered-host.js";
import type { RefusedQuestion, RootsRequest } from "./server-questions.js";

/** How the questions of a server are answered. */
export interface QuestionSettings {
  /** Finds the channel of a client that can be asked outside its calls. */
  readonly directory: ClientDirectory;
  /** Holds the calls that wait for answers. */
  readonly parked: ParkedCalls;
  /** How the server asks, on all of its connections. */
  readonly pace: QuestionPace;
  /** The answer to `roots/list` where no client can be asked; undefined: such a request is refused. */
  readonly roots: readonly JsonObject[] | undefined;
  /** Called for each question that reached no client. */
  readonly onRefused: (why: RefusedQuestion) => void;
}

/** What a connection of a legacy server needs beside `ProtocolSettings`. */
export interface LegacySettings {
  readonly questions: QuestionSettings;
  /** The one session that the connection is kept for; undefined where several clients share it. */
  readonly owner: Client | undefined;
  /** What the server remembers of hosts where the connection is kept for several; undefined for one session or for all. */
  readonly remembered?: RememberedHost | undefined;
  /** Called when the server asks for roots. */
  readonly onRootsAsked: (request: RootsRequest) => void;
  /** Called with each `notifications/tasks/status`; the notice has the server's own task id. */
  readonly onTaskStatus: (notice: Notice) => void;
  /** Numbers from 0 up to 1, for the jitter of the backoff. */
  readonly random: () => number;
}

/** What `initialize` offers. */
export interface HandshakeOffer {
  readonly revision: string;
  /** The client capabilities that are advertised; none of a client on a connection that many share. */
  readonly advertised: JsonObject;
  /** How long (ms) a new handshake after a lost session may take. */
  readonly timeoutMs: number;
}
