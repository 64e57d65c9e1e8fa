/**
 * The example in Python, on a running stack. It signs with eth-account if that is installed,
 * otherwise with a stand-in of the same interface, which lets this test sign.
 */
import assert from "node:assert/strict";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import type { TypedData } from "../../lib/client/mod.ts";
import type { StackUrls } from "../../services/stack/stack.ts";
import { exampleFor, fileUrl, hasProgram, hasVolatility, run, withStack } from "./support.ts";

const ignore = !await hasProgram("python3");
const hasEthAccount = !ignore &&
  (await run("python3", ["-c", "import eth_account"])).code === 0;

/** Runs the example to its end, at URLs. */
async function play(urls: StackUrls): Promise<{ code: number; text: string; stdout: string }> {
  const account = privateKeyToAccount(generatePrivateKey());
  const options = { hostname: "127.0.0.1", port: 0, onListen() {} };
  await using signer = Deno.serve(options, async (request) => {
    const typedData: TypedData = await request.json();
    return new Response(await account.signTypedData(typedData));
  });
  const standIn: Record<string, string> = hasEthAccount ? {} : {
    PYTHONPATH: fileUrl("tests/ship").pathname,
    PYTHONDONTWRITEBYTECODE: "1",
    SIGNER_URL: `http://127.0.0.1:${signer.addr.port}`,
    SIGNER_ADDRESS: account.address,
  };
  return await run("python3", ["-c", exampleFor("bet.py", urls)], { env: standIn });
}

/** Part of the test's name, so that nobody takes the stand-in for the package. */
const signedBy = hasEthAccount ? "eth-account" : "a stand-in: eth-account is not installed";

Deno.test(
  `Examples: the bet in Python plays against a running stack (signed by ${signedBy}), and reports ` +
    "the service or call that failed, exit code 1",
  { ignore },
  () =>
    withStack(async ({ urls }) => {
      await hasVolatility(urls);
      const { code, text, stdout } = await play(urls);
      assert.equal(code, 0, text);
      assert.match(stdout.trim(), /^(won|lost) \d+$/);

      // A node that refuses every call, as JSON-RPC does: with status 200.
      const options = { hostname: "127.0.0.1", port: 0, onListen() {} };
      await using proxy = Deno.serve(options, () => {
        const error = { code: -32002, message: "STORAGE: The disk is full" };
        return Response.json({ jsonrpc: "2.0", id: 1, error });
      });
      const refused = await play({ ...urls, proxy: `http://127.0.0.1:${proxy.addr.port}` });
      assert.deepEqual(
        [refused.code, refused.text],
        [1, "core_getPrices: -32002 STORAGE: The disk is full\n"],
      );

      const gone = await play({ ...urls, bridge: "http://127.0.0.1:1" });
      assert.equal(gone.code, 1);
      assert.match(gone.text, /^http:\/\/127\.0\.0\.1:1\S* cannot be reached: .*refused\n$/);
    }),
);
