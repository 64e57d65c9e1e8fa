import assert from "node:assert/strict";
import { parseOptions, UsageError } from "../../lib/cli/options.ts";
import { options, startOracle } from "../../services/oracle/mod.ts";

const text = { name: "oracle", description: "", examples: [] };

function parse(argv: string[], env: Record<string, string> = {}) {
  return parseOptions(text, options, argv, (name) => env[name]);
}

Deno.test("Oracle options: defaults of the spec (oracle spec, Service options)", () => {
  const { port, providers, aggregation, minSources, providerUrls } = parse([]);
  assert.equal(port, 8550);
  assert.deepEqual(providers, ["provider_a", "provider_b", "provider_c", "provider_d"]);
  assert.equal(aggregation, "median");
  assert.equal(minSources, 1);
  assert.deepEqual(providerUrls, {});
});

Deno.test("Oracle options: providers go by either name, each once, in the order of the spec", () => {
  assert.deepEqual(parse(["-p", "okx, provider_a,OKX"]).providers, ["provider_a", "provider_d"]);
  const { providerUrls } = parse([], {
    ORACLE_PROVIDER_URLS: "kraken=ws://127.0.0.1:1/v2,provider_a=wss://x.example/stream?streams=a",
  });
  assert.deepEqual(providerUrls, {
    provider_c: "ws://127.0.0.1:1/v2",
    provider_a: "wss://x.example/stream?streams=a",
  });
});

Deno.test("Oracle options: what is wrong is one clear line", () => {
  const wrong: [string[], RegExp][] = [
    [["-p", "mtgox"], /^Invalid --providers: Expected provider_a.*received "mtgox"$/],
    [["-p", ""], /^Invalid --providers/],
    [["-p", "okx,,"], /^Invalid --providers/],
    [["-a", "mode"], /^Invalid --aggregation: Expected median or average: received "mode"$/],
    [["-m", "0"], /^Invalid --min-sources: Expected a whole number from 1 to 4/],
    [["--provider-url", "okx"], /^Invalid --provider-url: .*Expected name=url/],
    [
      ["--provider-url", "okx=http://x"],
      /^Invalid --provider-url: Expected a URL with ws:\/\/ or wss:\/\/$/,
    ],
    [["--provider-url", "who=ws://x"], /^Invalid --provider-url: .*Expected provider_a/],
    [["--max-source-age-ms", "5"], /^Invalid --max-source-age-ms/],
  ];
  for (const [argv, line] of wrong) {
    assert.throws(() => parse(argv), (thrown) => {
      assert(thrown instanceof UsageError);
      assert.match(thrown.message, line);
      return true;
    });
  }
});

Deno.test("startOracle: refuses more sources than there are providers", async () => {
  const options = { ...parse(["-p", "okx", "-m", "2", "-P", "0"]) };
  await assert.rejects(startOracle(options), /Expected at most the number of providers, 1/);
});
