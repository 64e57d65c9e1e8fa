import { BlockList, isIP } from "node:net";
import { RangemakerError } from "../errors.ts";

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8);
loopback.addAddress("::1", "ipv6");

/**
 * The names under which a service answers. A web page can point its own name at this machine (DNS
 * rebinding) and then reads a service on loopback as if it were the page's own server; the `Host`
 * header still shows the page's name.
 */
export class AllowedHosts {
  /** Undefined if every name is allowed. */
  readonly #names: ReadonlySet<string> | undefined;
  readonly #isLoopback: boolean;
  /** The last allowed header: most callers send the same one. */
  #lastAllowed: string | undefined;

  /**
   * @param address The address that the service listens on.
   * @param names Further names, without a port; `*` for all. Without names, a service that is not
   *   on loopback answers to every name.
   */
  constructor(address: string, names: readonly string[] = []) {
    this.#isLoopback = isLoopback(address);
    const allowsAll = names.includes("*") || !this.#isLoopback && names.length === 0;
    this.#names = allowsAll ? undefined : new Set(["localhost", ...names.map(nameOf)]);
  }

  /** The reason to refuse a request; undefined if it is accepted. HTTP/2 has no `Host` header. */
  refusalOf(headers: Headers): RangemakerError | undefined {
    const host = headers.get("host");
    if (host === null) {
      const message = "Expected a Host header: send one, over HTTP/1.1";
      return new RangemakerError("INVALID_REQUEST", message);
    }
    if (host === this.#lastAllowed || this.#names === undefined) return undefined;
    const name = nameOf(host);
    const isOwnAddress = this.#isLoopback ? isLoopback(name) : isIP(name) !== 0;
    if (!isOwnAddress && !this.#names.has(name)) {
      const message = `This service does not answer as ${JSON.stringify(name)}: ` +
        "use its address, or add the name to --allowed-hosts";
      return new RangemakerError("HOST_NOT_ALLOWED", message);
    }
    this.#lastAllowed = host;
    return undefined;
  }
}

function isLoopback(address: string): boolean {
  const family = isIP(address);
  return family !== 0 && loopback.check(address, family === 4 ? "ipv4" : "ipv6");
}

/** A host without its port, brackets and final dot, in lower case. */
function nameOf(host: string): string {
  const [, name = host] = /^(.*?)(?::\d*)?$/.exec(host) ?? [];
  return name.replace(/^\[(.*)\]$/, "$1").replace(/\.$/, "").toLowerCase();
}
