/** A node with the test's behaviour, over real sockets. */
import { FakeFeed, type FakeFeedOptions, type ReceivedCall } from "../support/fake_feed.ts";
import { onFreePort } from "../support/ports.ts";

export interface Received {
  text: string;
  over: "http" | "ws";
  forwardedFor: string | null;
}

export interface EchoNodeOptions extends FakeFeedOptions {
  port?: number;
  /** Answers a request; by default each call with its own method and parameters. */
  answer?: (text: string, received: Received) => Response | Promise<Response>;
}

function echo({ id, method, params }: ReceivedCall): unknown {
  return { jsonrpc: "2.0", id, result: { method, params } };
}

/** The answer of a node that accepts every method. */
export function echoAnswer(text: string): Response {
  const value: ReceivedCall | ReceivedCall[] = JSON.parse(text);
  return Response.json(Array.isArray(value) ? value.map(echo) : echo(value));
}

/** A node that answers each call with the call itself, unless it is to do otherwise. */
export class EchoNode extends FakeFeed {
  readonly requests: Received[] = [];
  readonly port: number;
  readonly #options: EchoNodeOptions;
  readonly #server: Deno.HttpServer<Deno.NetAddr>;

  constructor(options: EchoNodeOptions = {}) {
    super(options);
    this.#options = options;
    const listen = (port: number) =>
      Deno.serve(
        { hostname: "127.0.0.1", port, onListen: () => {} },
        (request) => this.accept(request) ?? this.#answerOverHttp(request),
      );
    this.#server = options.port === undefined ? onFreePort(listen) : listen(options.port);
    this.port = this.#server.addr.port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  async stop(): Promise<void> {
    this.dropSockets();
    await this.#server.shutdown();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  protected override async answerText(text: string): Promise<string> {
    return await (await this.#answer({ text, over: "ws", forwardedFor: null })).text();
  }

  async #answerOverHttp(request: Request): Promise<Response> {
    const forwardedFor = request.headers.get("x-forwarded-for");
    return await this.#answer({ text: await request.text(), over: "http", forwardedFor });
  }

  async #answer(received: Received): Promise<Response> {
    this.requests.push(received);
    this.changed();
    return await (this.#options.answer ?? echoAnswer)(received.text, received);
  }
}
