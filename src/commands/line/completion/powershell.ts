/** The completion script of PowerShell, 5.1 and newer. */
import { optionsByValue, places } from "./places.ts";

export function powershellScript(): string {
  const { files, others } = optionsByValue();
  const entries = places().map(({ words, offers, takes }) => {
    const offered = offers.map(({ word, summary }) => `@(${quoted(word)}, ${quoted(summary)})`).join(", ");
    return `        ${quoted(words)} = @{ offers = @(${offered}); takesFile = ${takes ? "$true" : "$false"} }`;
  });
  return `# Completion of PowerShell for model-gateway.
Register-ArgumentCompleter -Native -CommandName model-gateway -ScriptBlock {
    param($current, $commandAst, $cursor)
    $places = @{
${entries.join("\n")}
    }
    $words = @($commandAst.CommandElements | Where-Object { $_.Extent.EndOffset -lt $cursor } | ForEach-Object { $_.ToString() })
    $previous = if ($words.Count -gt 1) { $words[-1] } else { '' }
    # Nothing is returned: PowerShell offers files.
    if (@(${files.map(quoted).join(", ")}) -contains $previous) { return }
    if (@(${others.map(quoted).join(", ")}) -contains $previous) { return '' }
    $place = ''
    foreach ($word in ($words | Select-Object -Skip 1)) {
        $next = "$place $word".Trim()
        if ($places.ContainsKey($next)) { $place = $next }
    }
    if ($places[$place].takesFile -and -not $current.StartsWith('-')) { return }
    $places[$place].offers | Where-Object { $_[0].StartsWith($current) } | ForEach-Object {
        [System.Management.Automation.CompletionResult]::new($_[0], $_[0], 'ParameterValue', $_[1])
    }
}`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
