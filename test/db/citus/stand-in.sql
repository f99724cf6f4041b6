-- Stands in for the two functions of Citus that config/citus.sql calls: distributes nothing, and refuses by the
-- catalogue what Citus refuses. `check_distribution` looks at everything once more when all is declared.

create table public.declared (relation regclass primary key, kind text not null, column_name name, together regclass);

create function public.create_reference_table(table_name regclass) returns void language plpgsql as $$
begin
  insert into public.declared values (table_name, 'reference');
  perform public.check_distribution();
end
$$;

create function public.create_distributed_table(table_name regclass, distribution_column text, colocate_with text default 'default')
returns void language plpgsql as $$
begin
  if not exists (select from pg_attribute where attrelid = table_name and attname = distribution_column and attnotnull) then
    raise exception '% has no column % that is never null', table_name, distribution_column;
  end if;
  insert into public.declared
  values (table_name, 'distributed', distribution_column, nullif(colocate_with, 'default')::regclass);
  perform public.check_distribution();
end
$$;

-- What a relation's place in the cluster is: distributed, reference, or local.
create function public.place_of(relation oid) returns text language sql as $$
  select coalesce((select kind from public.declared where declared.relation = place_of.relation), 'local')
$$;

create function public.check_distribution() returns void language plpgsql as $$
declare
  wrong text;
begin
  select format('%s: the unique key %s does not hold %s', d.relation, i.indexrelid::regclass, d.column_name) into wrong
  from public.declared d
  join pg_index i on i.indrelid = d.relation and (i.indisunique or i.indisexclusion)
  where d.kind = 'distributed' and not exists (
    select from pg_attribute a
    where a.attrelid = d.relation and a.attname = d.column_name and a.attnum = any (i.indkey[0:i.indnkeyatts - 1])
  );
  if wrong is not null then raise exception '%', wrong; end if;

  select format('%s: the foreign key %s leads from a %s table to a %s one, or not by the distribution column',
                k.conrelid::regclass, k.conname, public.place_of(k.conrelid), public.place_of(k.confrelid)) into wrong
  from pg_constraint k
  where k.contype = 'f' and (public.place_of(k.conrelid), public.place_of(k.confrelid)) <> ('local', 'local')
    and not (public.place_of(k.conrelid) in ('distributed', 'reference', 'local') and public.place_of(k.confrelid) = 'reference')
    and not exists (
      select from public.declared a join public.declared b on b.relation = k.confrelid
      join pg_attribute f on f.attrelid = a.relation and f.attname = a.column_name
      join pg_attribute t on t.attrelid = b.relation and t.attname = b.column_name
      where a.relation = k.conrelid and coalesce(a.together, a.relation) = coalesce(b.together, b.relation)
        and array_position(k.conkey, f.attnum) = array_position(k.confkey, t.attnum)
    );
  if wrong is not null then raise exception '%', wrong; end if;

  select format('%s: %s is an identity column of 32 bits', d.relation, a.attname) into wrong
  from public.declared d join pg_attribute a on a.attrelid = d.relation
  where a.attidentity <> '' and a.atttypid <> 'bigint'::regtype;
  if wrong is not null then raise exception '%', wrong; end if;

  select format('%s: has the trigger %s', d.relation, t.tgname) into wrong
  from public.declared d join pg_trigger t on t.tgrelid = d.relation and not t.tgisinternal;
  if wrong is not null then raise exception '%', wrong; end if;

  select format('%s: has statistics over an expression (%s)', d.relation, s.stxname) into wrong
  from public.declared d join pg_statistic_ext s on s.stxrelid = d.relation where s.stxexprs is not null;
  if wrong is not null then raise exception '%', wrong; end if;
end
$$;
