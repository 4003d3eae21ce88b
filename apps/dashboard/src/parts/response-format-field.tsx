import { Select } from '@mantine/core';

/** '' is the default. */
export type ResponseFormatChoice = '' | 'both' | 'url' | 'b64_json';

interface ResponseFormatFieldProps {
  /** Props that bind it to its form field. */
  readonly field: object;
  /** Whose default applies if nothing is selected. */
  readonly usual: 'account' | 'installation';
}

/** The response format for requests that don't set one. */
export function ResponseFormatField({ field, usual }: ResponseFormatFieldProps) {
  return (
    <Select
      label="Response format"
      description="For requests that don’t specify one"
      allowDeselect={false}
      data={[
        { value: '', label: usual === 'account' ? 'Account default' : 'Installation default' },
        { value: 'both', label: 'Link and Base64' },
        { value: 'url', label: 'Link (url)' },
        { value: 'b64_json', label: 'Base64 (b64_json)' },
      ]}
      {...field}
    />
  );
}
