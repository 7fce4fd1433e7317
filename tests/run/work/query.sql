-- A select-heavy workload: joins, windows, a recursive query, text, an index, and sums to compare.
create table item(id integer primary key, grp int, name text, weight real);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 20000)
insert into item select i, i * 7919 % 101, printf('item-%06x', i * 2654435761 % 16777216), i * 0.37 from n;
create index item_grp on item(grp, name);
analyze;
select count(*), sum(id), sum(length(name)), printf('%.3f', sum(weight)) from item;
select grp, count(*) c, min(name), max(name) from item group by grp having c > 100 order by c desc, grp limit 10;
select a.grp, count(*), sum(a.id * b.id % 1009) from item a join item b on b.grp = a.grp and b.name > a.name
  where a.id % 97 = 0 group by a.grp order by 3 desc, 1 limit 10;
select id, name, rank() over (partition by grp order by name), sum(id) over (order by id rows 3 preceding)
  from item where id % 1999 = 0 order by id;
select substr(name, 6, 1) d, count(*), group_concat(distinct grp % 7) from item where name like 'item-%a%' group by d order by d;
with recursive f(a, b, n) as (select 0, 1, 0 union all select b, a + b, n + 1 from f where n < 60) select sum(a) from f;
update item set weight = weight * 2 where grp in (select grp from item where name glob '*ff*');
delete from item where id % 13 = 0;
select count(*), sum(id), printf('%.3f', sum(weight)) from item;
select json_group_array(id) from (select id from item where grp = 5 order by name limit 20);
pragma integrity_check;
