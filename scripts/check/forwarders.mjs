import ts from 'typescript';

/**
 * Whether a method or function only hands its own parameters, all of them in their order, to one other method or function
 * of ours. What must exist does not count: what a decorator calls (a route), and methods of a class that implements an
 * interface.
 */
export function isForwarder(node) {
  if (!(ts.isMethodDeclaration(node) || ts.isFunctionDeclaration(node)) || node.body === undefined) return false;
  if (ts.canHaveDecorators(node) && ts.getDecorators(node) !== undefined) return false;
  if (ts.isMethodDeclaration(node) && !ts.isClassDeclaration(node.parent)) return false;
  if (ts.isMethodDeclaration(node) && implementsSomething(node.parent)) return false;
  const call = onlyCallOf(node.body);
  return call !== undefined && passesOn(node.parameters, call.arguments) && isOurs(call.expression, node);
}

function implementsSomething(declaration) {
  return declaration.heritageClauses?.some(({ token }) => token === ts.SyntaxKind.ImplementsKeyword) === true;
}

/** The call that is all a body does, with or without `return`, `await` and `void`. */
function onlyCallOf({ statements }) {
  const [statement] = statements;
  if (statements.length !== 1 || !(ts.isReturnStatement(statement) || ts.isExpressionStatement(statement)))
    return undefined;
  let { expression } = statement;
  while (expression !== undefined && (ts.isAwaitExpression(expression) || ts.isVoidExpression(expression)))
    ({ expression } = expression);
  return expression !== undefined && ts.isCallExpression(expression) ? expression : undefined;
}

function passesOn(parameters, passed) {
  return (
    parameters.length === passed.length &&
    parameters.every(({ name, dotDotDotToken, initializer }, index) => {
      const spread = ts.isSpreadElement(passed[index]);
      const argument = spread ? passed[index].expression : passed[index];
      if (!ts.isIdentifier(name) || !ts.isIdentifier(argument) || initializer !== undefined) return false;
      return name.text === argument.text && spread === (dotDotDotToken !== undefined);
    })
  );
}

/** A function that the file imports from a file of ours, a method of a field whose class is ours, or one of its own. */
function isOurs(called, node) {
  const file = node.getSourceFile();
  if (ts.isIdentifier(called)) return importOf(called.text, file) === 'ours';
  if (!ts.isPropertyAccessExpression(called)) return false;
  const owner = called.expression;
  if (owner.kind === ts.SyntaxKind.ThisKeyword) return true;
  if (!ts.isPropertyAccessExpression(owner) || owner.expression.kind !== ts.SyntaxKind.ThisKeyword) return false;
  const type = classOfField(owner.name.text, node.parent);
  return type !== undefined && (importOf(type, file) === 'ours' || isDeclared(type, file));
}

/** The name of a field's class, from its type or from what it is set to. */
function classOfField(name, declaration) {
  const built = declaration.members?.find(ts.isConstructorDeclaration)?.parameters ?? [];
  const field = [...built, ...(declaration.members ?? [])].find((member) => member.name?.getText() === name);
  if (field?.type !== undefined && ts.isTypeReferenceNode(field.type)) return field.type.typeName.getText();
  const value = field?.initializer;
  return value !== undefined && ts.isNewExpression(value) ? value.expression.getText() : undefined;
}

function isDeclared(name, { statements }) {
  return statements.some(
    (one) => (ts.isClassDeclaration(one) || ts.isInterfaceDeclaration(one)) && one.name?.text === name,
  );
}

/** Where a name comes from: `ours`, `foreign` (a package), or undefined if the file does not import it. */
function importOf(name, { statements }) {
  const found = statements.filter(ts.isImportDeclaration).find(({ importClause: clause }) => {
    const names =
      clause?.namedBindings !== undefined && ts.isNamedImports(clause.namedBindings)
        ? clause.namedBindings.elements
        : [];
    return clause?.name?.text === name || names.some((one) => one.name.text === name);
  });
  if (found === undefined) return undefined;
  return /^[#.]/.test(found.moduleSpecifier.text) ? 'ours' : 'foreign';
}
