#!/bin/sh
# Buys at running UCP shops with strabo buy and checks what comes of it. It starts and fetches nothing: give it the URLs
# of shops that run the flower shop data of the public UCP samples (release 2026-01-11), freshly seeded if the stock is
# to last.
#
#   cmd/strabo/public-shops.sh URL...
#   cmd/strabo/public-shops.sh http://localhost:3000 http://localhost:8182
#
# STRABO names the program; by default it is built from this checkout. Exit status: 0 if all came out as it should,
# 1 if not, 2 on wrong use.
set -u

if [ $# -eq 0 ]; then
	echo "usage: $0 URL..." >&2
	exit 2
fi
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
if [ -z "${STRABO:-}" ]; then
	STRABO=$work/strabo
	(cd "$(dirname "$0")" && go build -o "$STRABO" .) || exit 2
fi

failed=0
shops=0
# check STATUS PATTERN ARGUMENTS...: buys, and compares the exit status and the answer.
check() {
	status=$1 pattern=$2
	shift 2
	"$STRABO" buy --business "$shop" "$@" >"$work/out" 2>"$work/err"
	got=$?
	if [ "$got" -eq "$status" ] && grep -Eq "$pattern" "$work/out" "$work/err"; then
		echo "ok    $shop $*"
		return
	fi
	echo "FAIL  $shop $*: exit status $got, expected $status and an answer like $pattern"
	sed 's/^/      /' "$work/out" "$work/err"
	failed=1
}

for shop; do
	# A customer whose address the shop may know, and the cheapest way to deliver.
	check 0 '^Order .+ placed, 35\.00 USD' --item pot_ceramic --quantity 2 --buyer john.doe@example.com
	# A stranger with an address, and express delivery.
	set -- --street '9 New Rd' --city Austin --region TX --postal-code 73301 --country US
	check 0 '^Order .+ placed, 45\.00 USD' --item bouquet_tulips --option exp-ship-us "$@"
	# Two things in one order.
	check 0 '^Order .+ placed, 80\.00 USD' --item bouquet_tulips --item orchid_white "$@"
	# What the shop says no to.
	check 1 'The shop refused: Insufficient stock' --item gardenias --buyer john.doe@example.com
	check 1 'The shop refused: Product no_such_thing not found' --item no_such_thing --buyer john.doe@example.com
	check 1 'The shop declined: Payment Failed' --item pot_ceramic --buyer john.doe@example.com --pay mock_payment_handler:fail_token
	check 1 'The shop declined: .*[Uu]nsupported' --item pot_ceramic --buyer john.doe@example.com --pay iou:paper
	# What the shopper says no to.
	check 1 '^Cancelled: the total is 35\.00 USD' --item bouquet_tulips --max 3000 "$@"
	# With a journal the same command buys once, and says so again.
	check 0 '^Order .+ placed, ' --item pot_ceramic --buyer john.doe@example.com --journal "$work/journal" --order-id "$shops"
	first=$(cat "$work/out")
	check 0 'going on with the purchase' --item pot_ceramic --buyer john.doe@example.com --journal "$work/journal" --order-id "$shops"
	if [ "$first" != "$(cat "$work/out")" ]; then
		echo "FAIL  $shop: bought twice"
		failed=1
	fi
	shops=$((shops + 1))
	# Records for programs, without what was paid with.
	check 0 '"action":"Completed"' --item pot_ceramic --buyer john.doe@example.com --json
	if grep -q '"last_digits":"0000"' "$work/out"; then
		echo "FAIL  $shop: the payment was printed"
		failed=1
	fi
done
shop=http://127.0.0.1:0
check 2 'there is no shop to buy at' --item pot_ceramic
exit $failed
