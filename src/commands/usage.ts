/** usage is the output of `model-gateway help`. */
export const usage = `usage: model-gateway [COMMAND] [--config FILE]

  serve                                        run the gateway until Ctrl-C; the default
  demo                                         the same, with an account, keys and a first call to play with
  accounts create --name NAME [--postpaid]     make an account; writes its id
    [--grant AMOUNT]                           with credit to begin with
  accounts list                                list the accounts, with tier and balance
  accounts suspend|reinstate ACCOUNT           refuse its calls and sign its users out, or refuse no longer
  keys create --account ACCOUNT --name NAME    make an API key; writes its secret, once
    [--credit-limit AMOUNT] [--expires TIME]   what it may spend in its life, and until when
    [--model MODEL|family:NAME]…               what it may use; all models without it
  keys list [--account ACCOUNT]                list the keys, revoked ones too
  keys disable|enable KEY_ID                   refuse a key from now on, or no longer
  keys revoke KEY_ID                           refuse a key for good
  users list                                   list who may sign in to the dashboard
  users invite [--account ACCOUNT]             make a link by which somebody registers; writes it, once
    [--email ADDRESS]                          for the account, and for this address only
  users reset-password ADDRESS                 make a link by which a user sets a new password; writes it, once
  users no-second-factor ADDRESS               take away a second factor that a user has lost
  users operator|no-operator ADDRESS           let a user operate the gateway, or no longer
  users set-up                                 make a new link for the first user, in place of the one of \`serve\`
  recharge --account ACCOUNT --amount AMOUNT   record money that came in; it counts for the tier
  refund   --account ACCOUNT --amount AMOUNT   record money that was given back
  grant    --account ACCOUNT --amount AMOUNT   give credit; it does not count for the tier
    [--note TEXT] [--idempotency-key KEY]      repeated under its key within a day, the command moves nothing again
  codes create --amount AMOUNT [--count N]     make redeem codes; writes them, once
    [--expires TIME] [--note TEXT]
  codes list [--batch BATCH_ID]                list the codes, claimed ones too
  codes revoke BATCH_ID                        take back those of a batch that nobody has claimed
  reconcile                                    prove the sums of money; exit code 1 where one does not hold,
                                               or where a charge is noted and not written
  help, version                                show this, or the version

The configuration is the file of --config or GATEWAY_CONFIG; gateway.example.yaml has every key. Without one the
embedded models are served, those of the vendors whose keys are set, as OPENAI_API_KEY, and those of the server at
OPENAI_BASE_URL. HOST, PORT, DATA_DIR and LOG_LEVEL win over the file. Accounts, keys and money are in the data
folder: ./data, unless the configuration has another. Links lead to HOST and PORT: set them as for \`serve\`, or
public_urls.root in the file.
Amounts are decimals in units, as 12.50; times are as 2030-01-31T12:00:00Z.`;
