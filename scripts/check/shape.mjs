// Counts the patterns of scripts/check/shape-limits.mjs; --list prints where they are. Only a pattern that is a gate fails
// the check; the others are advice. Files are long wherever they are; everything else is looked for in apps/ and libs/,
// without tests and the console's pages.
// usage: node scripts/check/shape.mjs [root [limits]] [--list]
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import ts from 'typescript';
import { isForwarder } from './forwarders.mjs';

const MAX_FILE_LINES = 600;
const MAX_FUNCTION_LINES = 60;
const MAX_PARAMETERS = 7;
/** As many places are named with the advice; more only with --list. */
const FEW = 5;

const args = process.argv.slice(2);
const [root = join(import.meta.dirname, '..', '..'), limits = join(import.meta.dirname, 'shape-limits.mjs')] =
  args.filter((arg) => !arg.startsWith('--'));
const { LIMITS } = await import(pathToFileURL(resolve(limits)).href);
const found = Object.fromEntries(Object.keys(LIMITS).map((name) => [name, []]));
const reached = new Set();

const files = listFiles();
for (const file of files) {
  const text = readFileSync(join(root, file), 'utf8');
  const lines = text.split('\n').length - 1;
  if (lines > MAX_FILE_LINES && !text.startsWith('// Generated ')) found.longFiles?.push(`${file}: ${lines}`);
  if (isSource(file)) readSource(file, text);
}
found.reachedFiles?.push(...[...reached].sort());

let broken = 0;
for (const [name, { goal, what, why, gate = false }] of Object.entries(LIMITS)) {
  const places = found[name];
  const over = places.length > goal;
  const few = over && !gate && places.length <= FEW ? ` (${places.join(', ')})` : '';
  console.log(`${over && !gate ? 'advice: ' : ''}${String(places.length).padStart(4)}  ${what}; goal ${goal}${few}`);
  if (args.includes('--list')) for (const place of places) console.log(`      ${place}`);
  if (!over || !gate) continue;
  broken++;
  console.error(`${places.length} ${what}, ${goal} at most. ${why}\n${places.map((at) => `  ${at}`).join('\n')}`);
}
process.exitCode = broken === 0 && files.length > 0 ? 0 : 1;

/** Those of the repository, new ones too, but nothing that Git ignores. */
function listFiles() {
  const list = ['ls-files', '-z', '--cached', '--others', '--exclude-standard', '*.ts', '*.tsx', '*.mjs'];
  return execFileSync('git', list, { cwd: root, encoding: 'utf8' })
    .split('\0')
    .filter((file) => file !== '' && existsSync(join(root, file)))
    .sort();
}

function isSource(file) {
  return /^(apps|libs)\/.*\.ts$/.test(file) && !/\.(spec|fixture)\.ts$|^apps\/dashboard\//.test(file);
}

/** Notes every place of a file where a pattern is. */
function readSource(file, text) {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const lineOf = (position) => source.getLineAndCharacterOfPosition(position).line + 1;
  const note = (name, node) => found[name]?.push(`${file}:${lineOf(node.getStart(source))}`);
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
    if (ts.isFunctionLike(node)) {
      if (node.parameters.length > MAX_PARAMETERS) note('manyParameters', node);
      if (lineOf(node.end) - lineOf(node.getStart(source)) >= MAX_FUNCTION_LINES) note('longFunctions', node);
    }
    if (isForwarder(node)) note('forwarders', node);
    ts.forEachChild(node, visit);
  };
  visit(source);
  for (const statement of source.statements) if (isUndocumented(statement)) note('undocumentedExports', statement);
  for (const target of roomFilesOf(text)) if (roomOf(target) !== roomOf(file)) reached.add(target);
}

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
