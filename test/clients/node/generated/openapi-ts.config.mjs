// @hey-api/openapi-ts generates one of the two forms of an edit, so there are two clients: one for JSON, one for files.
const plugins = ['@hey-api/client-fetch'];
const input = '../../../../openapi.json';

/** Leaves the form of an edit only. */
const onlyForm = (operation) => {
  delete operation.requestBody.content['application/json'];
};

export default [
  { input, plugins, output: 'dist/src/hey-api', logs: { file: false } },
  {
    input,
    plugins,
    output: 'dist/src/hey-api-files',
    logs: { file: false },
    parser: {
      patch: { operations: { 'POST /v1/images/edits': onlyForm, 'POST /v1/images/edits/async': onlyForm } },
    },
  },
];
