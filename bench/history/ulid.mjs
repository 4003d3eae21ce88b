/** Ids begin with the time, like ULIDs: retention of charges and of the audit log depends on that. */
export const ulid = (prefix, at) => {
  const ms = `(extract(epoch from ${at}) * 1000)::bigint`;
  const digits = [45, 40, 35, 30, 25, 20, 15, 10, 5, 0].map(
    (bits) => `substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', (${ms} >> ${bits} & 31)::int + 1, 1)`,
  );
  return `'${prefix}_' || ${digits.join(' || ')} || lpad(n::text, 16, '0')`;
};
