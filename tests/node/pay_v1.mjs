// node pay_v1.mjs URL...: pays for each URL with x402-fetch (protocol version 1), prints one line of JSON each.
import { createWalletClient, http } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { base } from "viem/chains";
import { decodeXPaymentResponse, wrapFetchWithPayment } from "x402-fetch";

const account = privateKeyToAccount(process.env.BUYER_KEY);
const pay = wrapFetchWithPayment(fetch, createWalletClient({ account, transport: http(), chain: base }));
for (const url of process.argv.slice(2)) {
  const answer = await pay(url);
  const receipt = answer.headers.get("X-PAYMENT-RESPONSE");
  const settled = receipt && decodeXPaymentResponse(receipt);
  const isJson = answer.headers.get("Content-Type").startsWith("application/json");
  const body = isJson ? await answer.json() : null;
  console.log(JSON.stringify({ status: answer.status, body, receipt: settled }));
}
