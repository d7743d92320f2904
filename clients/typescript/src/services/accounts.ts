/** AccountService and its messages: balance, redeem codes, catalogue and ledger of an account. */
export * from "../../gen/modelgateway/v1/accounts_pb.ts";
