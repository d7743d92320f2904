/** chargeHeaders are the headers that report what a call cost. On streams they are trailers. */
export const chargeHeaders = ["x-gateway-cost", "x-gateway-usage", "x-gateway-budget"] as const;
