import assert from "node:assert/strict";
import { SPEC_MARKETS } from "../../lib/protocol/markets.ts";
import { parseOptions, UsageError, withDefaults } from "../../lib/cli/options.ts";
import { options, readConfig, startConsole } from "../../services/console/mod.ts";
import { assertAnswersAsName, everyOption, NAME } from "../support/every_option.ts";
import { marketsToml, withMarketsFile } from "../support/files.ts";
import { freePort } from "../support/ports.ts";

Deno.test(
  "Console: every option has its effect",
  everyOption(options, (observe) =>
    withMarketsFile(marketsToml(1), async (markets) => {
      const given = {
        port: freePort(),
        host: "127.0.0.2",
        allowedHosts: [NAME],
        solverUrl: "https://solver.example",
        bridgeUrl: "https://bridge.example",
        proxyUrl: "https://rpc.example",
        proxyWsUrl: "wss://ws.example",
        oracleUrl: "https://oracle.example",
        nodeUrl: "https://node.example",
        exchangesUrl: "https://exchanges.example",
        chainId: 4_242,
        markets,
        developmentChain: true,
      };
      const values = withDefaults(options, given);
      const config = await readConfig(values);
      const { url, stop } = startConsole(values, new Map(), config);
      try {
        const { urls, chainId, isDevelopmentChain, ...shown } =
          await (await fetch(`${url}/config.json`)).json();
        await observe(given, {
          port: () => assert.equal(new URL(url).port, String(given.port)),
          host: () => assert.equal(new URL(url).hostname, given.host),
          allowedHosts: () => assertAnswersAsName(url),
          solverUrl: () => assert.equal(urls.solver, given.solverUrl),
          bridgeUrl: () => assert.equal(urls.bridge, given.bridgeUrl),
          proxyUrl: () => assert.equal(urls.proxy, given.proxyUrl),
          proxyWsUrl: () => assert.equal(urls.proxyWs, given.proxyWsUrl),
          oracleUrl: () => assert.equal(urls.oracle, given.oracleUrl),
          nodeUrl: () => assert.equal(urls.node, given.nodeUrl),
          exchangesUrl: () => assert.equal(urls.exchanges, given.exchangesUrl),
          chainId: () => assert.equal(chainId, given.chainId),
          markets: () => {
            const symbols = shown.markets.map(({ symbol }: { symbol: string }) => symbol);
            assert.deepEqual(symbols, ["T1/EUR"]);
            assert(!SPEC_MARKETS.symbols.includes("T1/EUR"));
          },
          developmentChain: () => assert.equal(isDevelopmentChain, true),
        });
      } finally {
        await stop();
      }
    })),
);

Deno.test("Console: a URL with a user or a password is refused, since every visitor would get it", () => {
  const parse = (url: string) =>
    parseOptions(
      { name: "console", description: "", examples: [] },
      options,
      [url],
      () => undefined,
    );
  for (const name of ["--solver-url=http", "--node-url=https", "--proxy-ws-url=ws"]) {
    for (const user of ["me:secret", "token", ":secret"]) {
      assert.throws(() => parse(`${name}://${user}@host.example/`), (thrown) => {
        assert(thrown instanceof UsageError);
        assert.match(thrown.message, /Expected a URL without user and password/);
        assert(!thrown.message.includes(user), thrown.message);
        return true;
      });
    }
    parse(`${name}://host.example/a@b`);
  }
});
