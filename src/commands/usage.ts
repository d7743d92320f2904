/** usage is the output of `model-gateway help`. */
export const usage = `usage: model-gateway [COMMAND] [--config FILE]

  serve                                        run the gateway until Ctrl-C; the default
  demo                                         the same, with an account, keys and a first call to play with
  accounts create --name NAME [--postpaid]     create an account; prints its id
    [--grant AMOUNT]                           with initial credit
  accounts list                                list accounts with tier and balance
  accounts suspend|reinstate ACCOUNT           refuse its calls and sign its users out; or undo that
  keys create --account ACCOUNT --name NAME    create an API key; prints its secret, only once
    [--credit-limit AMOUNT] [--expires TIME]   the most it may spend in its life; its expiry
    [--model MODEL|family:NAME]…               the models it may use; default: all
  keys list [--account ACCOUNT]                list keys, including revoked ones
  keys disable|enable KEY_ID                   disable a key, or enable it again
  keys revoke KEY_ID                           revoke a key for good
  users list                                   list the users of the dashboard
  users invite [--account ACCOUNT]             create a link to register; prints it, only once
    [--email ADDRESS]                          for this account; for this address only
  users reset-password ADDRESS                 create a link to set a new password; prints it, only once
  users no-second-factor ADDRESS               remove a user's lost second factor
  users operator|no-operator ADDRESS           grant or remove the right to operate the gateway
  users set-up                                 create a new link for the first user; replaces the one of \`serve\`
  recharge --account ACCOUNT --amount AMOUNT   record a payment; counts towards the tier
  refund   --account ACCOUNT --amount AMOUNT   record a refund
  grant    --account ACCOUNT --amount AMOUNT   grant credit; does not count towards the tier
    [--note TEXT] [--idempotency-key KEY]      repeating it with the same key within a day records nothing again
  codes create --amount AMOUNT [--count N]     create redeem codes; prints them, only once
    [--expires TIME] [--note TEXT]
  codes list [--batch BATCH_ID]                list codes, including claimed ones
  codes revoke BATCH_ID                        revoke the unclaimed codes of a batch
  reconcile                                    check all sums of money; exit code 1 if one is wrong,
                                               or a charge is in the journal only
  import litellm CONFIG [--out FILE]           make a gateway.yaml of a LiteLLM proxy's config.yaml
    [--strict]                                 exit code 1 if anything is not as it was
  import litellm-keys FILE --account ACCOUNT   take its virtual keys over: their secrets go on working
    [--team TEAM_ID] [--strict]                those of a team only
  import new-api CHANNELS [--prices FILE]      make a gateway.yaml of new-api's lists of channels and prices
    [--out FILE] [--strict]
  help, version                                print this help, or the version

The configuration is the file of --config or GATEWAY_CONFIG; gateway.example.yaml has every key. Without one the
gateway serves the embedded models, those of the vendors whose keys are set, such as OPENAI_API_KEY, and those of the
server at OPENAI_BASE_URL. HOST, PORT, DATA_DIR and LOG_LEVEL take precedence over the file. Accounts, keys and money
are in the data folder: ./data, unless the configuration has another. Links lead to HOST and PORT: set them as for
\`serve\`, or public_urls.root in the file.
Amounts are decimals in units, such as 12.50; times look like 2030-01-31T12:00:00Z.`;
