// Finds the function bodies of C++ and TypeScript by their braces, without parsing either.

/** Replaces comments and literals by blanks, so that braces inside them do not count. */
export function blankLiterals(text, isScript) {
  const keepLines = (part) => part.replace(/[^\n]/g, ' ');
  const raw = isScript ? [] : [String.raw`R"(?<mark>[^(\s]*)\([\s\S]*?\)\k<mark>"`];
  const regexp = String.raw`(?<=[(,=:[!&|?{};]\s*)\/(?![*/])`
    + String.raw`(?:\\.|\[(?:\\.|[^\]\\])*\]|[^/\\\n])+\/`;
  const directive = String.raw`^[ \t]*#(?:\\\n|[^\n])*`;
  const pattern = new RegExp([
    String.raw`\/\/[^\n]*`, String.raw`\/\*[\s\S]*?\*\/`, ...raw, String.raw`"(?:\\.|[^"\\\n])*"`,
    isScript ? String.raw`'(?:\\.|[^'\\\n])*'` : String.raw`(?<![0-9a-zA-Z])'(?:\\.|[^'\\\n])+'`,
    ...(isScript ? [String.raw`\x60(?:\\[\s\S]|[^\x60\\])*\x60`, regexp] : [directive]),
  ].join('|'), 'gm');
  return text.replace(pattern, keepLines);
}

const LABELS = String.raw`^(?:case\s[^:]*:|default\s*:|public:|private:|protected:)*\s*`;
const CONTROL = new RegExp(String.raw`${LABELS}(?:else\b\s*)?(?:if|for|while|switch|catch)\b`);
const SCOPE =
  /^(?:export\s+)?(?:inline\s+)?(?:namespace|class|struct|union|enum|extern|interface)\b/;
const LAMBDA =
  /\[[^\]]*\]\s*(?:\([^()]*\))?\s*(?:mutable|noexcept|constexpr|->\s*[\w:<>*&]+|\s)*$/;
// `Name(parameters) : member_`, where the next brace initialises the member.
const MEMBER = /\)\s*(?:noexcept(?:\([^)]*\))?\s*)?:(?!:)[\s\S]*[\w>]$/;

function parenthesisDepth(head) {
  return (head.match(/\(/g) ?? []).length - (head.match(/\)/g) ?? []).length;
}

/** What an opening brace starts, given the text in front of it. A `value` ends no statement. */
function kindOf(head, isScript) {
  const statement = head.trim();
  if (statement.endsWith('=>') || (!isScript && LAMBDA.test(statement))) return 'function';
  if (parenthesisDepth(statement) > 0) return 'value';
  if (SCOPE.test(statement) && !/\)[\s\w]*$/.test(statement)) return 'block';
  if (CONTROL.test(statement)) return 'block';
  if (/(?:[=,[:?]|\breturn)$/.test(statement)) return 'value';
  if (!statement.includes(')')) return /[\w>]$/.test(statement) ? 'value' : 'block';
  return !isScript && MEMBER.test(statement) ? 'value' : 'function';
}

/** @returns [{ name, line, lines }] for every function body, nested ones included. */
export function functionsOf(text, isScript) {
  const found = [];
  const open = [];
  let head = '';
  let line = 1;
  for (const character of blankLiterals(text, isScript)) {
    if (character === '\n') line += 1;
    if (character === '{') {
      open.push({ kind: kindOf(head, isScript), head, line });
      head = '';
    } else if (character === '}') {
      const scope = open.pop();
      if (scope?.kind === 'function') {
        const name = scope.head.trim().split('\n')[0];
        found.push({ name, line: scope.line, lines: line - scope.line + 1 });
      }
      const insideCall = scope !== undefined && parenthesisDepth(scope.head) > 0;
      head = scope?.kind === 'value' || insideCall ? `${scope.head}{}` : '';
    } else if (character === ';' && parenthesisDepth(head) <= 0) {
      head = '';
    } else {
      head += character;
    }
  }
  return found;
}
