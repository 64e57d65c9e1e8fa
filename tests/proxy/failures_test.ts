import assert from "node:assert/strict";
import {
  answerLost,
  nodeTimeout,
  nodeUnreachable,
  originRefused,
} from "../../services/proxy/failures.ts";

Deno.test("ProxyError: only the error of a write that was sent says that it may have taken effect", () => {
  for (const target of ["read", "write"] as const) {
    const errors = [
      answerLost(target, "gone"),
      nodeTimeout(target, 1),
      nodeUnreachable(target, ""),
    ];
    const isDoubtful = errors.map(({ message }) => message.includes("may have taken effect"));
    assert.deepEqual(isDoubtful, [target === "write", target === "write", false]);
    assert.deepEqual(errors.map(({ status, rpcCode }) => [status, rpcCode]), [
      [502, -32002],
      [504, -32002],
      [502, -32002],
    ]);
  }
  const { status, rpcCode } = originRefused("https://bad.example");
  assert.deepEqual([status, rpcCode], [403, -32600]);
});
