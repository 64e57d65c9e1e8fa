import assert from "node:assert/strict";
import { withCertificate } from "../support/certificate.ts";
import { hasProgram, Program } from "../support/process.ts";
import { RawNode } from "./node/http_pool_scene.ts";
import { call, post } from "./support.ts";

Deno.test(
  "Proxy, TLS: a node trusted by --cert gets the caller's address, and each write once",
  { ignore: !hasProgram("openssl", "version") },
  () =>
    withCertificate(async ({ authority, cert, key }) => {
      const writes: string[] = [];
      const node = new RawNode((_, text) => {
        if (!text.startsWith("POST")) return { pieces: [], ends: true }; // it takes no WebSocket
        const isLost = writes.push(text) === 2;
        const body = `{"jsonrpc":"2.0","id":${/"id":(\d+)/.exec(text)?.[1]},"result":1}`;
        const answer = `HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
        return { pieces: isLost ? [] : [answer], ends: isLost };
      }, { cert, key });
      const port = await node.listen();
      for (
        const [host, isTrusted] of [["localhost", true], ["127.0.0.1", true], ["localhost", false]]
      ) {
        const nodeUrl = `https://${host}:${port}`;
        const urls = ["--read-node-url", nodeUrl, "--write-node-url", nodeUrl];
        const env: Record<string, string> = isTrusted ? { DENO_CERT: authority } : {};
        const program = new Program(["proxy", "--port", "0", ...urls], env);
        const listening = /Listening on "?(http:\/\/[\d.]+:\d+)/;
        await program.until(({ stderr }) => listening.test(stderr));
        const url = listening.exec(program.stderr)?.[1] ?? assert.fail();
        writes.length = 0;
        const statuses: number[] = [];
        for (let n = 0; n < 3; n += 1) {
          const answer = await post(url, call(1, "core_settleThesis", [n]));
          await answer.text();
          statuses.push(answer.status);
        }
        assert.deepEqual(statuses, isTrusted ? [200, 502, 200] : [502, 502, 502], `${host}`);
        assert.equal(writes.length, isTrusted ? 3 : 0);
        program.kill("SIGTERM");
        await program.finished();
      }
      await node.stop();
    }),
);
