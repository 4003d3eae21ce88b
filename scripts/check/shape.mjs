// Counts the patterns of scripts/check/shape-limits.mjs in apps/ and libs/, without tests and the console's pages; --list prints
// where they are. Only a pattern that is a gate fails the check; the others are advice.
// usage: node scripts/check/shape.mjs [root [limits]] [--list]
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, posix, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import ts from 'typescript';

const MAX_PARAMETERS = 7;
const args = process.argv.slice(2);
const [root = join(import.meta.dirname, '..', '..'), limits = join(import.meta.dirname, 'shape-limits.mjs')] =
  args.filter((arg) => !arg.startsWith('--'));
const { LIMITS } = await import(pathToFileURL(resolve(limits)).href);
const found = Object.fromEntries(Object.keys(LIMITS).map((name) => [name, []]));

const reached = new Set();

for (const file of ['apps', 'libs'].flatMap(listSources)) {
  const text = readFileSync(join(root, file), 'utf8');
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const note = (name, node) => {
    const { line } = source.getLineAndCharacterOfPosition(node.getStart(source));
    found[name]?.push(`${file}:${line + 1}`);
  };
  const visit = (node) => {
    if (file.endsWith('.sql.ts')) {
      if (isText(node)) note('sqlStatements', node);
    } else if (isStatement(node)) note('rawStatements', node);
    if (ts.isPropertyAssignment(node) && node.name.getText(source) === 'useFactory') note('factories', node);
    if (ts.isDecorator(node)) {
      const [name, argument] = decoratorOf(node);
      if (name === 'Inject' && /^[A-Z][a-z]/.test(argument)) note('injectedClasses', node);
      if (name === 'Req' || name === 'Res') note('rawRequests', node);
    }
    if (ts.isConstructorDeclaration(node) && node.parameters.length > MAX_PARAMETERS) note('longConstructors', node);
    ts.forEachChild(node, visit);
  };
  visit(source);
  for (const statement of source.statements) if (isUndocumented(statement)) note('undocumentedExports', statement);
  for (const target of roomFilesOf(text)) if (roomOf(target) !== roomOf(file)) reached.add(target);
}
found.reachedFiles?.push(...[...reached].sort());

let broken = 0;
for (const [name, { goal, what, why, gate = false }] of Object.entries(LIMITS)) {
  const count = found[name].length;
  const over = count > goal;
  console.log(`${over && !gate ? 'advice: ' : ''}${String(count).padStart(4)}  ${what}; goal ${goal}`);
  if (args.includes('--list')) for (const place of found[name]) console.log(`      ${place}`);
  if (!over || !gate) continue;
  broken++;
  console.error(`${count} ${what}, ${goal} at most. ${why}\n${found[name].map((at) => `  ${at}`).join('\n')}`);
}
process.exitCode = broken === 0 ? 0 : 1;

/** Exported classes, functions and interfaces without a doc comment. */
function isUndocumented(node) {
  return (
    (ts.isClassDeclaration(node) || ts.isFunctionDeclaration(node) || ts.isInterfaceDeclaration(node)) &&
    node.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) === true &&
    node.jsDoc === undefined
  );
}

function roomOf(file) {
  return file.split('/').slice(0, 2).join('/');
}

/** Files of rooms imported as #room/file.js, including type-only imports. */
function roomFilesOf(text) {
  return ts
    .preProcessFile(text, true, true)
    .importedFiles.flatMap(({ fileName }) => (/^#.*\.js$/.test(fileName) ? `libs/${fileName.slice(1, -3)}.ts` : []));
}

/** Calls of pg's query() and of Prisma's raw methods, as functions or as tags. */
function isStatement(node) {
  const called = ts.isCallExpression(node)
    ? node.expression
    : ts.isTaggedTemplateExpression(node)
      ? node.tag
      : undefined;
  return (
    called !== undefined &&
    ts.isPropertyAccessExpression(called) &&
    /^(query|\$queryRaw|\$queryRawUnsafe|\$executeRaw|\$executeRawUnsafe)$/.test(called.name.text)
  );
}

/** SQL texts, which are what people read, however few calls send them. Fragments that start differently don't count. */
function isText(node) {
  const text = ts.isStringLiteralLike(node) ? node.text : ts.isTemplateExpression(node) ? node.head.text : '';
  return /^\s*(SELECT|INSERT|UPDATE|DELETE|WITH|LOCK|TRUNCATE)\b/.test(text);
}

function decoratorOf({ expression }) {
  if (!ts.isCallExpression(expression)) return [expression.getText(), ''];
  return [expression.expression.getText(), expression.arguments[0]?.getText() ?? ''];
}

function listSources(folder) {
  if (!existsSync(join(root, folder))) return [];
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .map((entry) => posix.join(folder, entry.parentPath.slice(join(root, folder).length), entry.name))
    .filter(
      (file) => /\.ts$/.test(file) && !/\.(spec|fixture)\.ts$|\/(generated|node_modules|dist|dashboard)\//.test(file),
    )
    .sort();
}
