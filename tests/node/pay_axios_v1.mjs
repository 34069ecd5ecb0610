// node pay_axios_v1.mjs URL...: pays for each URL with x402-axios (protocol version 1), prints one line of JSON each.
import axios from "axios";
import { createWalletClient, http } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { base } from "viem/chains";
import { decodeXPaymentResponse, withPaymentInterceptor } from "x402-axios";

const account = privateKeyToAccount(process.env.BUYER_KEY);
const pay = withPaymentInterceptor(axios.create(), createWalletClient({ account, transport: http(), chain: base }));
for (const url of process.argv.slice(2)) {
  const answer = await pay.get(url);
  const receipt = answer.headers["x-payment-response"];
  const settled = receipt && decodeXPaymentResponse(receipt);
  const body = typeof answer.data === "object" ? answer.data : null;
  console.log(JSON.stringify({ status: answer.status, body, receipt: settled }));
}
