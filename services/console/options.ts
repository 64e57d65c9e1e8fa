import type { z } from "zod";
import * as kinds from "../../lib/cli/option_kinds.ts";
import type { OptionsOf } from "../../lib/cli/options.ts";
import { chainIdOption, listenOptions, marketsOption } from "../../lib/cli/shared_options.ts";
import { optionsFor } from "../../lib/cli/option_names.ts";

/** Every visitor gets the URLs, and browsers refuse one with a user. */
function withoutUser(schema: z.ZodString) {
  return schema.refine((text) => {
    const { username, password } = URL.parse(text) ?? {};
    return !username && !password;
  }, "Expected a URL without user and password: every visitor gets it, and browsers refuse it");
}

/** A URL that browsers call; this process never does. */
const browserUrl = {
  schema: withoutUser(kinds.httpUrl.schema),
  placeholder: "url",
} satisfies kinds.OptionKind;
const browserWsUrl = {
  ...browserUrl,
  schema: withoutUser(kinds.wsUrl.schema),
} satisfies kinds.OptionKind;

export const options = optionsFor("console", {
  port: {
    flags: "-P, --port",
    kind: kinds.port,
    description: "HTTP port",
    default: "8600",
  },
  ...listenOptions,
  solverUrl: {
    kind: browserUrl,
    description: "the solver, as browsers reach it",
    default: "http://127.0.0.1:3000",
  },
  bridgeUrl: {
    kind: browserUrl,
    description: "the bridge, as browsers reach it",
    default: "http://127.0.0.1:3001",
  },
  proxyUrl: {
    kind: browserUrl,
    description: "the proxy, as browsers reach it",
    default: "http://127.0.0.1:8546",
  },
  proxyWsUrl: {
    kind: browserWsUrl,
    description: "the proxy's WebSocket; derived from --proxy-url by default",
  },
  oracleUrl: {
    kind: browserUrl,
    description: "the oracle, as browsers reach it, to show its state",
  },
  nodeUrl: {
    kind: browserUrl,
    description: "the write node, as browsers reach it, to show its state",
  },
  exchangesUrl: {
    kind: browserUrl,
    description: "stand-ins for the exchanges, as browsers reach them, to show their state",
  },
  chainId: chainIdOption,
  markets: marketsOption,
  developmentChain: {
    kind: kinds.flag,
    description: "--chain-id is a chain for tests: users may make a key in their browser",
    default: "false",
  },
});

export type ConsoleOptions = OptionsOf<typeof options>;
