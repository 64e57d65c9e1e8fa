import { withDefaults } from "../../lib/cli/options.ts";
import type { RunningService } from "../../lib/http/service.ts";
import { DEV_ACCOUNTS } from "../../lib/protocol/dev_accounts.ts";
import { LocalSigner } from "../../lib/protocol/signature.ts";
import { options as bridgeOptions, startBridge } from "../../services/bridge/mod.ts";
import { options as consoleOptions, readConfig, startConsole } from "../../services/console/mod.ts";
import { options as exchangesOptions, startExchanges } from "../../services/exchanges/mod.ts";
import { options as nodeOptions, startNode } from "../../services/node/mod.ts";
import { options as oracleOptions, startOracle } from "../../services/oracle/mod.ts";
import { options as proxyOptions, startProxy } from "../../services/proxy/mod.ts";
import { options as solverOptions, startSolver } from "../../services/solver/mod.ts";
import { consolePage } from "../support/console_page.ts";
import { freePort, startAgain } from "../support/ports.ts";

/** Pages of all origins: the console's is not known when the others start. */
const corsOrigins = ["*"];

const NAMES = ["oracle", "node", "proxy", "bridge", "solver", "console"] as const;
type Name = typeof NAMES[number];

/** The services of a stack, each of which can go away and come back at the same URL. */
export class TestServices {
  readonly #running = new Map<Name, RunningService>();
  readonly #urls = new Map<Name, string>();
  readonly #publicUrls: { solver?: string };
  #exchanges: Awaited<ReturnType<typeof startExchanges>> | undefined;

  private constructor(publicUrls: { solver?: string }) {
    this.#publicUrls = publicUrls;
  }

  /**
   * Starts all of them; dispose of them after use.
   *
   * @param publicUrls Where users reach a service, if that is not the service itself.
   */
  static async start(publicUrls: { solver?: string } = {}): Promise<TestServices> {
    const services = new TestServices(publicUrls);
    const options = withDefaults(exchangesOptions, { port: 0, corsOrigins });
    services.#exchanges = await startExchanges(options);
    for (const name of NAMES) await services.start(name);
    return services;
  }

  /** Where a service is, also while it is away. */
  urlOf(name: Name): string {
    const url = this.#urls.get(name);
    if (url === undefined) throw new TypeError(`${name} was never started`);
    return url;
  }

  /** Where everything is that a client needs. */
  get urls() {
    const [solver, bridge, proxy] = (["solver", "bridge", "proxy"] as const)
      .map((name) => this.urlOf(name)) as [string, string, string];
    return {
      solver,
      bridge,
      proxy,
      proxyWs: `${proxy.replace("http", "ws")}/ws`,
      ...this.#publicUrls,
    };
  }

  async stop(name: Name): Promise<void> {
    await this.#running.get(name)?.stop();
    this.#running.delete(name);
  }

  /** Starts one on its old port. Its memory is lost. */
  async start(name: Name): Promise<void> {
    const url = this.#urls.get(name);
    const port = url === undefined ? freePort() : Number(new URL(url).port);
    const service = await startAgain(() => this.#start(name, port));
    this.#running.set(name, service);
    this.#urls.set(name, service.url);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const name of NAMES.toReversed()) await this.stop(name);
    await this.#exchanges?.stop();
  }

  async #start(name: Name, port: number): Promise<RunningService> {
    const at = { port, corsOrigins };
    const keyOf = (account: keyof typeof DEV_ACCOUNTS) =>
      new LocalSigner(DEV_ACCOUNTS[account].privateKey);
    switch (name) {
      case "oracle": {
        const { providerUrls } = this.#exchanges ?? {};
        const given = { ...at, minSources: 2, ...(providerUrls && { providerUrls }) };
        return await startOracle(withDefaults(oracleOptions, given));
      }
      case "node":
        return await startNode(withDefaults(nodeOptions, {
          ...at,
          readPort: 0,
          oracleUrl: this.urlOf("oracle"),
          maxStaleMs: 1_000,
          dataDir: ":memory:",
          dev: true,
        }));
      case "proxy": {
        const url = this.urlOf("node");
        return await startProxy(
          withDefaults(proxyOptions, { ...at, writeNodeUrl: url, readNodeUrl: url }),
        );
      }
      case "bridge":
        return await startBridge(withDefaults(bridgeOptions, {
          ...at,
          rpcUrl: this.urlOf("node"),
          privateKey: keyOf("relayer"),
          database: ":memory:",
        }));
      case "solver":
        return await startSolver(withDefaults(solverOptions, {
          ...at,
          rpcUrl: this.urlOf("node"),
          privateKey: keyOf("solver"),
          wsUrl: `${this.urlOf("proxy").replace("http", "ws")}/ws`,
          database: ":memory:",
        }));
      case "console": {
        const { solver, bridge, proxy } = this.urls;
        const options = withDefaults(consoleOptions, {
          port,
          developmentChain: true,
          solverUrl: solver,
          bridgeUrl: bridge,
          proxyUrl: proxy,
          oracleUrl: this.urlOf("oracle"),
          nodeUrl: this.urlOf("node"),
        });
        const config = await readConfig(options);
        return startConsole(options, await consolePage(), config);
      }
    }
  }
}
